import { GitServer, NO_GIT_SERVER } from '../test/support/git-server.ts'
import { TestServer } from '../test/support/server.ts'
import { reaching, type StartOrder, useAsGithub } from '../test/support/starts.ts'
import { quantile } from './load.ts'

type Report = (what: string, figure: string, goal?: string, met?: boolean) => void

const ROUNDS = 40
const ms = (n: number) => `${n.toFixed(1)} ms`

/** From the order of a conversation to READY, as a client that follows the stream sees it. */
export async function starts(report: Report): Promise<void> {
  if (NO_GIT_SERVER) return report('app conversation: order → READY', NO_GIT_SERVER)
  await using git = await GitServer.open()
  await git.add('us/small', 'seq 100 >a.txt; mkdir src; seq 1000 >src/b.txt; git add -A; git commit -qm one')
  await using server = await TestServer.start({ ...reaching(git), args: ['--log-level', 'warn'] })
  await useAsGithub(server, git)
  const bare = await rounds(server, {})
  report('app conversation: order → READY, p50', ms(quantile(bare, 0.5)))
  report('app conversation: order → READY, p95', ms(quantile(bare, 0.95)), '< 150 ms', quantile(bare, 0.95) < 150)
  const cloned = await rounds(server, { selected_repository: 'us/small', git_provider: 'github' })
  report('app conversation with a small repository, p50', ms(quantile(cloned, 0.5)))
  report('app conversation with a small repository, p95', ms(quantile(cloned, 0.95)))
}

async function rounds(server: TestServer, body: StartOrder): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const began = performance.now()
    const stream = (await server.client.streamAppConversationStart({ body })) as Response
    const tasks = (await stream.json()) as { status: string; detail: string | null; app_conversation_id: string }[]
    times.push(performance.now() - began)
    const { status, detail, app_conversation_id: conversation_id } = tasks.at(-1)!
    if (status !== 'READY') throw new Error(`${status}: ${detail}`)
    await server.client.deleteAppConversation({ params: { conversation_id } })
  }
  return times.slice(1).sort((a, b) => a - b)
}
