import type { Client } from '../../client/index.ts'
import { run } from './place.ts'

export interface Listener {
  port: number
  /** The program, as far as the sandbox lets it be seen. */
  program: string | undefined
}

/** The sandbox's own way out, what listens, by inode, and whose the sockets are. For any Linux with a POSIX shell. */
const COMMAND = `echo "proxy $http_proxy"
cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
for process in /proc/[0-9]*; do
  name=$(cat "$process/comm" 2>/dev/null) || continue
  ls -l "$process/fd" 2>/dev/null | sed -n "s/.*socket:\\[\\([0-9]*\\)\\]$/owner \\1 $name/p"
done`

const LISTENING = '0A'

export async function readPorts(api: Client, signal: AbortSignal): Promise<Listener[]> {
  return parsePorts(await run(api, COMMAND, signal))
}

export function parsePorts(text: string): Listener[] {
  const inodes = new Map<number, string>()
  const owners = new Map<string, string>()
  const proxy = Number(/^proxy .*:(\d+)\/?$/m.exec(text)?.[1])
  for (const line of text.split('\n')) {
    const [, inode, name] = /^owner (\d+) (.+)$/.exec(line) ?? []
    if (inode && name) owners.set(inode, name)
    // sl, local address, remote address, state, queues, timer, retransmits, uid, timeout, inode
    const fields = line.trim().split(/\s+/)
    const port = /^[0-9A-F]+:([0-9A-F]{4})$/.exec(fields[1] ?? '')?.[1]
    if (port && fields[3] === LISTENING) inodes.set(Number.parseInt(port, 16), fields[9] ?? '')
  }
  inodes.delete(proxy)
  return [...inodes].map(([port, inode]) => ({ port, program: owners.get(inode) })).sort((a, b) => a.port - b.port)
}
