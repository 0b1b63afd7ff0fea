/** Says every 5 s for how long something has been going on. Call the answer to end it. */
export function everyFewSeconds(say: (line: string) => void, what: string): () => void {
  const began = Date.now();
  const timer = setInterval(() => say(`${what} … ${Math.round((Date.now() - began) / 1000)} s`), 5_000);
  return () => clearInterval(timer);
}
