import * as z from 'zod'
import type { Action, ToolAnnotations, ToolDefinition } from '../../api/actions.ts'
import type { TextContent } from '../../api/common.ts'
import type { Observation } from '../../api/observations.ts'
import { type Hands, Misunderstood, type Tool } from '../tool.ts'

type Of<T, K> = Extract<T, { kind: K }>
type BuiltInKind = Exclude<ToolDefinition['kind'], 'ClientTool' | 'MCPToolDefinition'>

/** What a model may say to a tool. */
export interface Spoken<I extends z.ZodObject = z.ZodObject> {
  schema: I
  /** The same as a JSON schema. */
  parameters: Record<string, unknown>
}

/** Made when it is first needed, and once: a schema costs time and memory, and every conversation has tools. */
export function spoken<I extends z.ZodObject>(make: () => I): () => Spoken<I> {
  let made: Spoken<I> | undefined
  return () => {
    if (made) return made
    const schema = make()
    const { $schema, ...parameters } = z.toJSONSchema(schema, { io: 'input' })
    made = { schema, parameters }
    return made
  }
}

interface Description<A extends Action['kind'], O extends Observation['kind'], I extends z.ZodObject> {
  name: string
  /** Undefined where readers of events do not know it. */
  kind?: BuiltInKind
  action: A
  observation: O
  description: string
  /** What the model may say, each field with a description. Its output, with `kind`, is the action. */
  input: () => Spoken<I>
  annotations?: Partial<Omit<ToolAnnotations, 'title'>>
  run(action: Of<Action, A>, hands: Hands): Promise<Of<Observation, O>>
  recall?(observations: readonly Of<Observation, O>[]): void
  warm?(hands: Hands): void
  close?(): Promise<void>
}

/** A tool of ours, from one description. */
export function builtIn<A extends Action['kind'], O extends Observation['kind'], I extends z.ZodObject>(
  given: Description<A, O, I>,
): Tool {
  const annotations: ToolAnnotations = {
    title: given.name,
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
    ...given.annotations,
  }
  return {
    name: given.name,
    description: given.description,
    definition: given.kind && {
      kind: given.kind,
      title: given.name,
      description: given.description,
      action_type: given.action,
      observation_type: given.observation,
      annotations,
    },
    get parameters() {
      return given.input().parameters
    },
    readOnly: annotations.readOnlyHint,
    understand: args => {
      const parsed = given.input().schema.safeParse(args)
      if (!parsed.success) throw new Misunderstood(z.prettifyError(parsed.error))
      return { ...parsed.data, kind: given.action } as unknown as Action
    },
    run: (action, hands) => given.run(action as Of<Action, A>, hands),
    recall: observations =>
      given.recall?.(observations.filter(one => one.kind === given.observation) as Of<Observation, O>[]),
    ...(given.warm && { warm: given.warm }),
    ...(given.close && { close: given.close }),
  }
}

/** What a tool says, as the content of its observation. */
export const said = (text: string): TextContent[] => [{ type: 'text', text, cache_prompt: false }]
