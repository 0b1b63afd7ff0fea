import { Command, CommanderError } from 'commander';
import { Failure } from './process/failure.js';
import { bootstrapVerb } from './verbs/bootstrap.js';
import { addUserVerb, tokenVerb } from './verbs/people.js';
import { clearFaultsVerb, effectsVerb, faultVerb, killMachineVerb } from './verbs/stand-ins.js';

/** `npm run -s world -- <verb>`: acts as the people and networks outside the product. */

const world = new Command('world')
  .usage('<verb> …   (as: npm run -s world -- <verb> …)')
  .description(
    'Acts as the people and networks outside a running local world (npm start; LOCAL_DIR names another one).',
  )
  .helpCommand(false)
  .exitOverride();

world
  .command('token')
  .argument('[email]', 'one of the ready users', 'ada@example.com')
  .description("a bearer token, through the identity provider's own sign-in")
  .action(tokenVerb);
world.command('user').argument('<email>').description('a new ready user').action(addUserVerb);
world
  .command('effects')
  .argument('<provider>', 'host')
  .description('what really happened there, one JSON line an effect')
  .action(effectsVerb);
world
  .command('fault')
  .argument('<provider>', 'host, or clear to end all faults')
  .argument('[json]', '{match?: {method?, path?, body?}, times?, mode, status?, delayMs?, retryAfter?}')
  .description('makes a provider misbehave')
  .addHelpText(
    'after',
    `\nmodes: error-before error-after reset-after timeout-after delay rate-limit malformed down twice`,
  )
  .action((provider: string, json?: string) => (provider === 'clear' ? clearFaultsVerb() : faultVerb(provider, json)));
world
  .command('kill-machine')
  .argument('<agentId>')
  .description("kills the agent's machine as a power cut would; it stays stopped")
  .action(killMachineVerb);
world
  .command('bootstrap')
  .argument('<agentId>')
  .description(
    "the agent's runtimeId and a fresh bootstrap token; using it ends the machine's own session until its next start",
  )
  .action(bootstrapVerb);

try {
  await world.parseAsync();
} catch (error) {
  if (error instanceof Failure) console.error(`world: ${error.message}`);
  else if (!(error instanceof CommanderError)) throw error; // commander has spoken already
  process.exitCode = error instanceof CommanderError ? error.exitCode : 1;
}
