/** The pages people see at the local identity provider. */

export const loginPage = (email: string, problem?: string): string =>
  page(
    'Sign in',
    `<h1>Sign in</h1>
    <p class="hint">The local world's identity provider. Users and passwords are in the table <code>npm start</code> prints.</p>
    ${problem ? `<p class="problem" role="alert">${escape(problem)}</p>` : ''}
    <form method="post">
      <label>Email <input name="email" type="email" autocomplete="username" required autofocus value="${escape(email)}"></label>
      <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
      <button>Sign in</button>
    </form>`,
  );

export const messagePage = (title: string, text: string): string =>
  page(title, `<h1>${escape(title)}</h1><p>${escape(text)}</p>`);

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escape(title)}</title>
    <style>${style}</style>
  </head>
  <body><main>${body}</main></body>
</html>
`;

const style = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; }
  main { width: min(22rem, calc(100vw - 3rem)); }
  .hint { opacity: .7; font-size: .875rem; }
  .problem { border-left: 3px solid #d33; padding-left: .75rem; }
  label { display: block; margin: 1rem 0; }
  input, button { font: inherit; box-sizing: border-box; width: 100%; padding: .6rem .75rem; border-radius: .4rem; border: 1px solid #8888; }
  button { border: 0; background: #2456d6; color: #fff; cursor: pointer; }
`;

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text: string): string => text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign);
