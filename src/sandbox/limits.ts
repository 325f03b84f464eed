/** How often sandboxes are looked at without an occasion: soon enough that an ended one does not pass for running. */
export const SWEEP_MS = 10_000

/** How often a used sandbox's disk is measured at most: that reads every folder of it. */
export const MEASURE_MS = 60_000

/** How long a start may hold up its own answer, so that what starts in a blink is running in it. */
export const START_WAIT_MS = 2_000

/** How long a step of a conversation may take to come to rest before its sandbox is frozen; then it is interrupted. */
export const REST_MS = 5_000

/** After the start, before what nobody remembers is looked for: that reads about every process, when people wait for the first page. */
export const ORPHANS_MS = 300
