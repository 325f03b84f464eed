import { fault } from '../api/errors.ts'
import type { Remote } from '../git-providers/remote.ts'

/** Of a branch: longer ones do not fit into a file's name with what git adds. */
const NAME_CHARACTERS = 200

/** What git takes for the name of a branch, and no program for an option. */
export function isBranchName(name: string): boolean {
  const strange = /[\0- \x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-/.]|\/\.|[/.]$|\.lock(\/|$)|^@$|^HEAD$/
  return name.length > 0 && name.length <= NAME_CHARACTERS && !strange.test(name)
}

/** Refuses an address that leads anywhere but to a web server, or that bears what opens it. */
export function checkRemote({ url, repository }: Remote): void {
  const parsed = URL.parse(url)
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol) && /^https?:\/\/[^\s]+$/.test(url)
  if (!isWeb || parsed.username || parsed.password)
    throw fault('repository_not_found', `The address of ${repository} is none that a repository is fetched from`)
}
