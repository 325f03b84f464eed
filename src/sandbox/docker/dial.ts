import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { fault } from '../../api/errors.ts'
import type { Process } from '../sandbox.ts'

/** A connection made by a command inside that says one byte first, when somebody listens. */
export async function dialled(port: number, dialling: Process): Promise<Duplex> {
  const { stdin, stdout, stderr } = dialling
  stderr.resume()
  const said = once(stdout, 'readable').catch(() => undefined)
  await Promise.race([said, dialling.exit])
  if (stdout.read(1) === null || !stdin) {
    stdout.destroy()
    throw fault('port_closed', port)
  }
  const both = new Duplex({
    allowHalfOpen: false,
    read: () => void stdout.resume(),
    // What cannot be written any more has nobody to read it: the other direction says so.
    write: (chunk, _, done) => void stdin.write(chunk, () => done()),
    final: done => void stdin.end(() => done()),
    destroy: (error, done) => {
      stdout.destroy()
      stderr.destroy()
      dialling.signal('SIGKILL').catch(() => undefined)
      done(error)
    },
  })
  stdout.on('data', chunk => {
    if (!both.push(chunk)) stdout.pause()
  })
  stdout.once('end', () => both.push(null))
  stdout.once('close', () => {
    if (!stdout.readableEnded) both.destroy()
  })
  return both
}
