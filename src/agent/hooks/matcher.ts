import { runInNewContext } from 'node:vm'

/** For one tool's name: a pattern that takes longer was made to. */
const PATIENCE_MS = 25

/** `*` and nothing mean everything, also where there is no tool; a regular expression, in slashes or not, must mean the whole name. */
export function matches(matcher: string, toolName: string | undefined): boolean {
  if (matcher === '*' || matcher === '') return true
  if (toolName === undefined) return false
  const slashes = /^\/(.+)\/$/.exec(matcher)?.[1]
  if (matcher === toolName) return true
  if (slashes === undefined && !/[|.*+?[\]()^$\\]/.test(matcher)) return false
  try {
    const given = { pattern: `^(?:${slashes ?? matcher})$`, toolName }
    return runInNewContext('new RegExp(pattern).test(toolName)', given, { timeout: PATIENCE_MS }) === true
  } catch (error) {
    // A pattern that cannot be judged in time guards everything; one that is none means nothing.
    return (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  }
}
