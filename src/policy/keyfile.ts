import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'

/** The key in a file, made the first time. Nobody but its owner can read it. */
export function keyFromFile(file: string): string {
  try {
    writeFileSync(file, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    chmodSync(file, 0o600)
  }
  const key = readFileSync(file, 'utf8').trim()
  if (key.length < 32)
    throw new Error(`The key in ${file} is too short to be one; remove the file to have a new one made`)
  return key
}
