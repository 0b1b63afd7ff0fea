/** The last version of the Temporal CLI that `go install` can build: 1.6 and later have a `replace` in their go.mod. */
export const engineVersion = '1.5.1';
