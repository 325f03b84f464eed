import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import { fault } from '../api/errors.ts'
import { run } from '../sandbox/run.ts'
import { type Bench, script } from './git.ts'
import { LOOK_MS } from './limits.ts'

/** Beside a folder, what belongs to it. */
export const beside = (folder: string, what: string): string =>
  posix.join(posix.dirname(folder), `.gantry-${posix.basename(folder)}-${what}`)

/** What is not yet the folder. Those of a try that died are known by their names. */
export const aside = (folder: string): string => beside(folder, randomBytes(4).toString('hex'))

/** folder → whether it is a repository, is nothing yet, or holds something else. Its parent is there afterwards. */
const LOOK = `folder=$1
mkdir -p -- "$2" || exit 1
if [ -e "$folder/.git" ] || { [ -f "$folder/HEAD" ] && [ -d "$folder/objects" ]; }; then echo repository
elif [ -d "$folder" ] && [ -z "$(ls -A "$folder")" ]; then echo free
elif [ ! -e "$folder" ] && [ ! -L "$folder" ]; then echo free
else echo taken
fi`

/** Whether the folder is a repository already; refuses one that holds something else. */
export async function isThere(bench: Bench, folder: string): Promise<boolean> {
  const state = (await script(bench, LOOK, [folder, posix.dirname(folder)])).trim()
  if (state === 'taken') throw fault('repository_failed', `${folder} holds other files already`)
  return state === 'repository'
}

const CLEAR = `for left in "$1"[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]; do
  [ ! -e "$left" ] || rm -rf -- "$left"
done`

/** Removes what tries that died left beside the folder. */
export async function clearBeside(bench: Bench, folder: string): Promise<void> {
  await script(bench, CLEAR, [beside(folder, '')])
}

/** Makes something beside a folder, which then becomes the folder at once. Nothing is left of what fails. */
export async function made<T>(bench: Bench, folder: string, make: (making: string) => Promise<T>): Promise<T> {
  const making = aside(folder)
  try {
    const result = await make(making)
    await script(bench, 'exec mv -T -- "$1" "$2"', [making, folder])
    return result
  } catch (error) {
    // Not by the signal that ended the rest.
    const argv = ['rm', '-rf', '--', making] as const
    await run(bench.sandbox, { argv, cwd: '/', timeoutMs: LOOK_MS }, { limit: 4096 }).catch(() => undefined)
    throw error
  }
}
