import { fault } from '../api/errors.ts'
import type { SandboxPort } from '../api/sandboxes.ts'
import { PROXY_PORT } from './egress/environment.ts'
import { PATIENCE_MS } from './files.ts'
import { run } from './run.ts'
import type { Sandbox } from './sandbox.ts'

/** Sockets looked at: more than any program a person would open has. */
const SOCKETS = 1000
/** Room for as many lines of a socket and of those who hold it. */
const ANSWER_BYTES = 1024 * 1024

/**
 * What listens, as the kernel tells it; then, for each process that holds such a socket, `owner inode name`. For any Linux with a
 * POSIX shell. Where nothing isolates, everybody's processes are seen: those of the sandbox bear its mark.
 */
const SCRIPT = `
export LC_ALL=C
listening=$(grep -h ' 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null | head -n ${SOCKETS})
[ -n "$listening" ] || exit 0
printf '%s\\n' "$listening"
sockets=$(printf '%s\\n' "$listening" | while read -r _ _ _ _ _ _ _ _ _ inode _; do printf 'socket:[%s]\\n' "$inode"; done)
own() { [ -z "$GANTRY_SANDBOX" ] || tr '\\0' '\\n' <"$1/environ" | grep -Fqx "GANTRY_SANDBOX=$GANTRY_SANDBOX"; }
# With -R the folder is named even when it is only one.
ls -lnR /proc/[0-9]*/fd 2>/dev/null | grep -aF -e /fd: -e "$sockets" | while IFS= read -r line; do
  case $line in
    /proc/*/fd:) process=\${line%/fd:} ;;
    *'socket:['*']')
      inode=\${line##*socket:[}
      { own "$process" && IFS= read -r name <"$process/comm"; } 2>/dev/null || continue
      printf 'owner %s %s\\n' "\${inode%]}" "$name" ;;
  esac
done
exit 0
`

/** What of a sandbox could be opened: what listens on its loopback, or on any address. */
export async function listeners(sandbox: Sandbox): Promise<SandboxPort[]> {
  const command = { argv: ['/bin/sh', '-c', SCRIPT], cwd: '/', timeoutMs: PATIENCE_MS } as const
  const { code, stdout, overflow } = await run(sandbox, command, { limit: ANSWER_BYTES })
  if (code !== 0 && !overflow) throw fault('sandbox_unavailable', sandbox.id, 'not answering')
  const isolated = sandbox.roots === undefined
  return parseListeners(stdout.toString()).filter(
    // Its own way out is held by nobody inside.
    ({ port, program }) => program !== null || (isolated && port !== PROXY_PORT),
  )
}

/** 0.0.0.0, 127.0.0.1, ::, ::1 and ::ffff:127.0.0.1, as a little-endian kernel writes them. */
const OPEN = [
  '00000000',
  '0100007F',
  '00000000000000000000000000000000',
  '00000000000000000000000001000000',
  '0000000000000000FFFF00000100007F',
]

/** Newer versions of Node call their process by its thread. */
const THREAD = /-MainThread$/

/** By port; of those who share one, the first that is known. */
export function parseListeners(text: string): SandboxPort[] {
  const ports = new Map<number, string[]>()
  const owners = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, socket, name] = /^owner (\d+) (.+)$/.exec(line) ?? []
    if (socket && name && !owners.has(socket)) owners.set(socket, name.replace(THREAD, ''))
    // sl, local address, remote address, state, queues, timer, retransmits, uid, timeout, inode
    const fields = line.trim().split(/\s+/)
    const [address = '', digits = ''] = (fields[1] ?? '').split(':')
    const port = Number.parseInt(digits, 16)
    if (OPEN.includes(address) && port > 0) ports.set(port, [...(ports.get(port) ?? []), fields[9] ?? ''])
  }
  return [...ports]
    .map(([port, sockets]) => ({ port, program: sockets.flatMap(one => owners.get(one) ?? [])[0] ?? null }))
    .sort((a, b) => a.port - b.port)
}
