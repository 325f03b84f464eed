import * as z from 'zod'
import { AgentDefinition } from './agent.ts'
import { orNull, textOrNull } from './common.ts'
import { mcpServers } from './mcp.ts'

export const SubAgentsRequest = z
  .object({
    load_user: z.boolean().default(true),
    load_project: z.boolean().default(true),
    load_builtin: z.boolean().default(true),
    project_dir: textOrNull.meta({ description: 'Absolute, or from the working directory of the sandbox' }),
  })
  .meta({ id: 'SubAgentsRequest' })
export type SubAgentsRequest = z.output<typeof SubAgentsRequest>

export const SubAgentInfo = z
  .object({
    ...AgentDefinition.shape,
    mcp_servers: orNull(mcpServers).meta({ deprecated: true, description: 'The same as mcp_config' }),
    is_builtin: z.boolean().default(false),
  })
  .meta({ id: 'SubAgentInfo' })
export type SubAgentInfo = z.output<typeof SubAgentInfo>

export const SubAgentsResponse = z.object({ agents: z.array(SubAgentInfo) }).meta({ id: 'SubAgentsResponse' })
export type SubAgentsResponse = z.output<typeof SubAgentsResponse>
