/** Says at once what begins, then every 5 s for how long it has been going on. Call the answer to end it. */
export function everyFewSeconds(say: (line: string) => void, what: string): () => void {
  const began = Date.now();
  say(`${what} …`);
  const timer = setInterval(() => say(`${what} … ${Math.round((Date.now() - began) / 1000)} s`), 5_000);
  return () => clearInterval(timer);
}
