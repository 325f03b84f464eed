/** Until a model says its first word, where the order sets no time: thinking may take long, and shows nothing. */
export const FIRST_WORD_MS = 300_000

/** Between two signs of life, once it speaks: providers send one every few seconds, so that this long is silence for good. */
export const SILENCE_MS = 120_000

/** Of one answer, so that an endpoint that trickles for ever ends too. */
export const LONGEST_ANSWER_MS = 3_600_000

/** Of one answer as it travels: a hundred times what the largest output limit of any model takes. */
export const LARGEST_ANSWER_BYTES = 64 * 1024 * 1024

/** Of what a provider says about a failure: the rest is rarely for people. */
export const LONGEST_WORDS = 1_000
