/** A tool cannot do what it was asked. The message is for the model: why, and what to do instead. */
export class Refused extends Error {}
