import { fault } from '../api/errors.ts'
import type { Remote } from '../git-providers/remote.ts'
import { Masker } from '../policy/mask.ts'
import { quote } from '../sandbox/shell.ts'

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * What makes git find the token in a variable of its environment: it can stand in a file that anybody reads. Only the remote's own
 * host is given it, wherever that should redirect to.
 */
export function credentialConfig({ url, credential }: Remote): [string, string][] {
  if (!credential) return []
  const { username, variable } = credential
  if (!VARIABLE.test(variable)) throw fault('bad_request', `Not a name of an environment variable: ${variable}`)
  const answer = `printf 'username=%s\\npassword=%s\\n' ${quote(username)} "$${variable}"`
  return [
    [`credential.${new URL(url).origin}.helper`, `!f() { [ "$1" = get ] && [ -n "$${variable}" ] && ${answer}; }; f`],
  ]
}

export const credentialEnv = ({ credential }: Remote): Record<string, string> =>
  credential ? { [credential.variable]: credential.token } : {}

/** What was said, without the token in any of its usual forms, and without what stands before a host in an address. */
export function withoutCredentials(text: string, remote: Remote | null): string {
  const { credential } = remote ?? {}
  const secrets = credential ? [credential.token, `${credential.username}:${credential.token}`] : []
  return new Masker(secrets).mask(text).replace(/(\/\/)[^/@\s]+@/g, '$1')
}
