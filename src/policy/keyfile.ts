import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'

/** The key in a file, made the first time. Nobody but its owner can read it. */
export function keyFromFile(file: string): string {
  const key = readKey(file) ?? makeKey(file)
  if (key.length < 32) throw new Error(`The key in ${file} is too short to be one; remove it to have a new one made`)
  return key
}

function readKey(file: string): string | undefined {
  try {
    chmodSync(file, 0o600)
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Under another name until it is whole and on disk: a crash or a full disk must not leave half a key. */
function makeKey(file: string): string {
  const key = randomBytes(32).toString('base64url')
  const unfinished = `${file}.new`
  const fd = openSync(unfinished, 'w', 0o600)
  try {
    writeSync(fd, key)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(unfinished, file)
  return key
}
