export interface Arrival {
  url: string;
  /** False when the way ended at the application's own address, which is not fetched. */
  isPage: boolean;
}

/** As much of a browser as a sign-in needs: cookies, redirects, and stopping where the application would take over. */
export class Browser {
  private readonly cookies = new Map<string, string>();
  private readonly home: string;

  constructor(home: string) {
    this.home = home;
  }

  visit(url: string): Promise<Arrival> {
    return this.follow(url, {});
  }

  submit(url: string, form: Record<string, string>): Promise<Arrival> {
    return this.follow(url, { method: 'POST', body: new URLSearchParams(form) });
  }

  private async follow(url: string, request: RequestInit): Promise<Arrival> {
    if (url.startsWith(this.home)) return { url, isPage: false };
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { ...request, redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) this.keep(line);
    await answer.body?.cancel();
    const location = answer.headers.get('location');
    return location ? this.follow(new URL(location, url).href, {}) : { url, isPage: true };
  }

  private keep(line: string): void {
    const [pair = ''] = line.split(';');
    const at = pair.indexOf('=');
    this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}
