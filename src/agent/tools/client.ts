import type { ClientToolSpec } from '../../api/agent.ts'
import type { Tool } from '../tool.ts'
import { said } from './built-in.ts'

/** A tool that the client runs: it sees the action in the log. Nothing of what it does comes back. */
export function makeClientTool({ name, description, parameters, annotations }: ClientToolSpec): Tool {
  return {
    name,
    description,
    definition: {
      kind: 'ClientTool',
      title: name,
      description,
      action_type: `ClientAction_${name}`,
      observation_type: 'ClientToolObservation',
      client_tool_name: name,
      input_schema: parameters,
      ...(annotations && { annotations }),
    },
    parameters,
    readOnly: annotations?.readOnlyHint ?? false,
    understand: args => ({ ...args, kind: `ClientAction_${name}` }),
    run: async () => ({
      kind: 'ClientToolObservation',
      content: said('Tool call dispatched to client.'),
      is_error: false,
    }),
  }
}
