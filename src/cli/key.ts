import { dataFolder, keyIn, type Where } from './connect.ts'
import { exit, Failure, type Io, say } from './io.ts'

/** `gantry key`: what opens the server of a data folder. */
export async function key(io: Io, where: Pick<Where, 'data' | 'config'>): Promise<number> {
  const data = await dataFolder(io, where)
  const found = keyIn(data)
  if (found === undefined)
    throw new Failure(`there is no session key in ${data}: one is made when the server first starts`)
  say(io.stdout, found)
  return exit.finished
}
