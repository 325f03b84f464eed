import { type Fault, fault } from '../api/errors.ts'
import type { Remote } from '../git-providers/remote.ts'
import type { Outcome } from '../sandbox/run.ts'
import { withoutCredentials } from './credential.ts'
import { type RepositoryLimits, SHOWN_CHARACTERS, SHOWN_LINES } from './limits.ts'

/** By the words of git and of what carries it, in the order they are looked for. */
const POLICY = /This is the network policy of the sandbox|CONNECT tunnel failed, response 403|HTTP code 403 from proxy/
const CLOSED =
  /Authentication failed|could not read (Username|Password)|returned error: (401|403|404)|repository '.*' not found/i
const UNREACHABLE =
  /Could not resolve|Couldn't connect|Failed to connect|Connection (refused|reset|timed out)|Operation (too slow|timed out)|CONNECT tunnel failed|HTTP code \d+ from proxy|certificate|SSL|TLS|returned error: (429|5\d\d)|Empty reply|RPC failed|early EOF|unexpected disconnect|hung up|remote end/i
const FULL = /No space left on device|Disk quota exceeded|File too large/
/** What a shell sees of a process that was killed, or that made too large a file. */
const KILLED = 137
const FILE_LIMIT = 153

/** What a failed command means to the person whose repository it is. */
export function failure(
  { stdout, stderr, code, reason, overflow }: Pick<Outcome, 'stdout' | 'stderr' | 'code' | 'reason' | 'overflow'>,
  remote: Remote | null,
  { fetchMs, localMs }: Pick<RepositoryLimits, 'fetchMs' | 'localMs'>,
): Fault {
  const said = `${stdout}\n${stderr}`
  const last = lastLines(said, remote)
  if (overflow) return fault('repository_failed', `git said too much:\n${last}`)
  if (FULL.test(said) || code === FILE_LIMIT)
    return fault('repository_too_large', 'The disk of the sandbox is full: the repository does not fit')
  if (remote) {
    const host = new URL(remote.url).host
    if (reason === 'timeout')
      return fault('repository_unreachable', `${host} took longer than ${minutes(fetchMs)} for ${remote.repository}`)
    if (POLICY.test(said))
      return fault('repository_unreachable', `The network policy of the sandbox does not let it reach ${host}`)
    if (CLOSED.test(said)) return fault('repository_not_found', closedBy(remote))
    if (UNREACHABLE.test(said)) return fault('repository_unreachable', `${host} cannot be reached:\n${last}`)
  }
  if (reason === 'timeout') return fault('repository_failed', `git took longer than ${minutes(localMs)}`)
  if (code === KILLED)
    return fault('repository_failed', 'git was killed: the sandbox may have reached its limit of memory or disk')
  return fault('repository_failed', last || `git ended with ${code}`)
}

/** A host that is asked for what it does not want to show says that there is nothing. */
function closedBy({ url, repository, provider, credential }: Remote): string {
  const { host } = new URL(url)
  return credential
    ? `${host} shows no repository ${repository} to the token ${credential.variable}: it does not exist, or the token is wrong, has expired or does not include it`
    : `${host} shows no repository ${repository} without a token: it does not exist, or it is private and a ${provider} token must be added in the settings`
}

const minutes = (ms: number): string => (ms < 60_000 ? `${ms / 1000} seconds` : `${Math.round(ms / 60_000)} minutes`)

/** Of an output what a person looks at first. A line that was written over counts as it was left. */
export function lastLines(text: string, remote: Remote | null = null): string {
  const lines = text.split('\n').map(line => line.replace(/\r$/, '').split('\r').at(-1)!.trimEnd())
  const shown = lines.filter(Boolean).slice(-SHOWN_LINES).join('\n')
  return withoutCredentials(shown, remote).slice(-SHOWN_CHARACTERS)
}
