import { LIMITS, type RepositoryLimits } from '../repository/limits.ts'

/** Of one skill or plugin: texts, some scripts, a picture. It is kept in the database and written into sandboxes. */
export const FILES = 500
export const TOTAL_BYTES = 4 * 1024 * 1024

/** Of skills and of plugins: every session reads what they bring. */
export const PACKAGES = 100

/** Of one conversation: each is fetched before it begins. */
export const PLUGINS_AT_ONCE = 20

/** Of one request for skills, side by side: somebody waits for it. */
export const PACKAGES_AT_ONCE = 20

/** Plugins or agents that one project is searched for. */
export const PER_PROJECT = 50

/** Of an agent's definition, or of the list of a marketplace. In bytes. */
export const AGENT_BYTES = 64 * 1024
export const MARKETPLACE_BYTES = 2 * 1024 * 1024

/** How long the list of a marketplace is good for. */
export const MARKETPLACE_MS = 5 * 60_000

/** Somebody waits for it: less than a project may take. */
export const FETCH: RepositoryLimits = { ...LIMITS, fetchMs: 2 * 60_000, localMs: 60_000, bytes: 512 * 1024 ** 2 }
