import { once } from 'node:events'
import { Duplex, type Readable, type Writable } from 'node:stream'
import { fault } from '../../api/errors.ts'
import type { Process } from '../sandbox.ts'

/** Documented, but not in the types. */
const joined = Duplex.from as unknown as (pair: { readable: Readable; writable: Writable }) => Duplex

/** A connection made by a command inside that says one byte first, when somebody listens. */
export async function dialled(port: number, dialling: Process): Promise<Duplex> {
  const { stdin, stdout, stderr } = dialling
  stderr.resume()
  const readable = once(stdout, 'readable').then(
    () => stdout.read(1),
    () => null,
  )
  const first = (await Promise.race([readable, dialling.exit.then(() => stdout.read(1))])) as Buffer | null
  if (!first || !stdin) {
    stdout.destroy()
    throw fault('port_closed', port)
  }
  const both = joined({ readable: stdout, writable: stdin })
  both.once('close', () => {
    stdout.destroy()
    stderr.destroy()
    dialling.signal('SIGKILL').catch(() => undefined)
  })
  return both
}
