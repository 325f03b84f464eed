import { fault } from '../../api/errors.ts'
import type { Launch } from './execution.ts'

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Refuses what no process can be given. */
export function checked(launch: Launch): Launch {
  const { argv, cwd, env } = launch
  for (const word of [...argv, cwd, ...Object.values(env)])
    if (word.includes('\0')) throw fault('bad_request', 'A command cannot hold a NUL character')
  const strange = Object.keys(env).find(name => !NAME.test(name))
  if (strange !== undefined) throw fault('bad_request', `Not a name of an environment variable: ${strange}`)
  return launch
}
