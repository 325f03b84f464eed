import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ProcessBackend } from '../../src/sandbox/process.ts'
import { findProgram } from '../support/command.ts'
import { tempFolder } from '../support/server.ts'
import { type Arena, sandboxContract } from './sandbox.ts'

async function open(): Promise<Arena> {
  const data = await tempFolder()
  const folder = join(data, 'sandboxes')
  const backend = new ProcessBackend(folder)
  return {
    backend,
    capabilities: { command: false, limits: false, isolated: false },
    reopen: async () => new ProcessBackend(folder),
    [Symbol.asyncDispose]: async () => {
      await backend.close()
      await rm(data, { recursive: true, force: true })
    },
  }
}

const missing = ['setsid', 'script'].find(program => findProgram(program) === undefined)

sandboxContract('ProcessBackend', open, missing !== undefined && `the program \`${missing}\` is not installed`, {
  oneIn: 4,
})
