import type { Tool as McpTool } from '@modelcontextprotocol/client'
import type { Action, ToolAnnotations } from '../../api/actions.ts'
import { Misunderstood, type Tool } from '../tool.ts'
import { said } from '../tools/built-in.ts'
import { explain } from './failure.ts'
import { contentOf } from './result.ts'
import type { Server } from './server.ts'

type McpAction = Extract<Action, { kind: 'MCPToolAction' }>

/** A tool of a server, under the name a model knows it by. */
export function mcpTool(name: string, tool: McpTool, server: Server): Tool {
  const { $schema, ...schema } = tool.inputSchema
  const parameters = { ...schema, properties: schema.properties ?? {} }
  const description = tool.description ?? ''
  const annotations: ToolAnnotations = {
    title: tool.annotations?.title ?? tool.title ?? name,
    readOnlyHint: tool.annotations?.readOnlyHint ?? false,
    destructiveHint: tool.annotations?.destructiveHint ?? true,
    idempotentHint: tool.annotations?.idempotentHint ?? false,
    openWorldHint: tool.annotations?.openWorldHint ?? true,
  }
  return {
    name,
    description,
    parameters,
    readOnly: annotations.readOnlyHint,
    definition: {
      kind: 'MCPToolDefinition',
      title: name,
      description,
      action_type: 'MCPToolAction',
      observation_type: 'MCPToolObservation',
      annotations,
      mcp_tool: { ...tool, name },
    },
    understand: args => {
      const missing = (tool.inputSchema.required ?? []).filter(key => !Object.hasOwn(args, key))
      if (missing.length > 0) throw new Misunderstood(`Missing: ${missing.join(', ')}`)
      return { kind: 'MCPToolAction', data: args }
    },
    run: async (action, { signal }) => {
      const observed = { kind: 'MCPToolObservation', tool_name: name } as const
      try {
        const result = await server.call(tool.name, (action as McpAction).data, signal)
        const content = [...said(`[Tool '${name}' executed.]`), ...contentOf(result)]
        return { ...observed, is_error: result.isError ?? false, content }
      } catch (error) {
        signal.throwIfAborted()
        const why = `The MCP server '${server.name}' did not do it: ${explain(error).message}`
        return { ...observed, is_error: true, content: said(why) }
      }
    },
  }
}
