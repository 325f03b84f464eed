import { connectRunning, dataFolder, keyIn, type Where } from './connect.ts'
import { exit, Failure, type Io, say } from './io.ts'

/** `gantry key`: what opens the server of a data folder; with `link`, a browser at once. */
export async function key(io: Io, { link, ...where }: Where & { link?: boolean }): Promise<number> {
  if (link) {
    const { baseUrl, client } = await connectRunning(io, where)
    const { token } = await client.makeSignInLink()
    say(io.stdout, `${baseUrl}/#token=${token}`)
    return exit.finished
  }
  const data = await dataFolder(io, where)
  const found = keyIn(data)
  if (found === undefined)
    throw new Failure(
      `there is no session key in ${data}: one is made when a server first starts there, unless it is given one`,
    )
  say(io.stdout, found)
  return exit.finished
}
