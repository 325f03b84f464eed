import type { ConversationExecutionStatus, ConversationInfo } from '../api/conversations.ts'
import { amount } from './command.ts'
import { connect, type Where } from './connect.ts'
import { short } from './ending.ts'
import { exit, type Io, say } from './io.ts'
import { age, columns, oneLine, safe } from './text.ts'

const FEW = 20
const PAGE = 100
const TITLE = 80

/** `gantry ls`: what conversations there are. */
export async function ls(
  io: Io,
  options: Where & { status?: string; limit?: string; json?: boolean },
): Promise<number> {
  const wanted = amount('limit', options.limit, { whole: true }) ?? FEW
  await using server = await connect(io, options)
  const found: ConversationInfo[] = []
  for (let page_id: string | undefined; found.length < wanted; ) {
    const status = options.status as ConversationExecutionStatus | undefined
    const query = {
      limit: Math.min(PAGE, wanted - found.length),
      ...(status && { status }),
      ...(page_id && { page_id }),
    }
    const page = await server.client.searchConversations({ query })
    found.push(...page.items)
    if (!page.next_page_id) break
    page_id = page.next_page_id
  }
  if (options.json) say(io.stdout, JSON.stringify(found))
  else if (found.length === 0) say(io.stderr, 'There are no conversations.')
  else
    for (const line of columns(found.map(cells), io.stdout.isTTY ? io.stdout.columns : undefined)) say(io.stdout, line)
  return exit.finished
}

const cells = ({ id, execution_status, updated_at, title, workspace }: ConversationInfo): string[] => [
  short(id),
  execution_status.replaceAll('_', ' '),
  age(updated_at, Date.now()),
  oneLine(safe(title ?? workspace.working_dir), TITLE),
]
