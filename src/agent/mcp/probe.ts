import type { MCPServer } from '../../api/mcp.ts'
import { explain, Failure, type FailureKind } from './failure.ts'
import { contentOf } from './result.ts'
import { Session, type Surroundings } from './session.ts'

export interface ProbeOptions extends Surroundings {
  name: string
  timeoutMs: number
  /** Called once it stands. */
  toolCall?: { name: string; arguments: Record<string, unknown> }
}

export type Probe =
  | { ok: true; tools: string[]; tool_result?: { is_error: boolean; text: string } }
  | { ok: false; error: string; error_kind: FailureKind }

/** Whether a server can be used: connects, asks for its tools, calls one of them if told to, and leaves nothing behind. */
export async function probe(server: MCPServer, options: ProbeOptions): Promise<Probe> {
  const { name, timeoutMs, toolCall } = options
  const deadline = AbortSignal.timeout(timeoutMs)
  let session: Session | undefined
  try {
    session = await Session.open({ name, server, around: options }, deadline)
    const tools = session.tools.map(tool => tool.name)
    if (!toolCall) return { ok: true, tools }
    const result = await session.call(toolCall.name, toolCall.arguments, deadline)
    const text = contentOf(result).flatMap(block => (block.type === 'text' ? [block.text] : []))
    return { ok: true, tools, tool_result: { is_error: result.isError ?? false, text: text.join('\n') } }
  } catch (error) {
    const { message, kind } = deadline.aborted
      ? new Failure('timeout', `it did not answer within ${timeoutMs / 1_000} s`)
      : explain(error)
    return { ok: false, error: `The MCP server '${name}' cannot be used: ${message}`, error_kind: kind }
  } finally {
    await session?.close()
  }
}
