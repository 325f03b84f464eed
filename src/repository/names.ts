import { fault } from '../api/errors.ts'
import type { Remote } from '../git-providers/remote.ts'

/** Refuses an address that leads anywhere but to a web server, or that bears what opens it. */
export function checkRemote({ url, repository }: Remote): void {
  const parsed = URL.parse(url)
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol) && /^https?:\/\/[^\s]+$/.test(url)
  if (!isWeb || parsed.username || parsed.password)
    throw fault('repository_not_found', `The address of ${repository} is none that a repository is fetched from`)
}
