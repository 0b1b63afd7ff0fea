/** A failure a person can act on: its message is one sentence that says what to do, shown without a stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
}
