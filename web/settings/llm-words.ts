import type { Words } from './schema-input.tsx'

/** What is rarely changed of a model, in this order, and what it does. Types and defaults are the schema's. */
export const MORE: Record<string, Words> = {
  'llm.temperature': {
    label: 'Temperature',
    hint: 'Higher is more varied, lower more predictable. Many newer models take none.',
  },
  'llm.reasoning_effort': {
    label: 'Reasoning effort',
    hint: 'How long it may think: none, low, medium, high or xhigh. More costs more.',
  },
  'llm.max_output_tokens': { label: 'Longest answer', unit: 'tokens', hint: 'Not set: as long as the model allows.' },
  'llm.max_input_tokens': { label: 'Context window', unit: 'tokens', hint: 'Not set: what is known of the model.' },
  'llm.timeout': { label: 'Patience', unit: 'seconds', hint: 'How long to wait for an answer before asking again.' },
  'llm.num_retries': { label: 'Retries', hint: 'How often to ask again when the provider fails or is busy.' },
  'llm.top_p': {
    label: 'Top P',
    hint: 'Only the likeliest words that make up this share are chosen from. From 0 to 1.',
  },
  'llm.seed': { label: 'Seed', hint: 'The same seed makes answers alike, where the provider supports it.' },
  'llm.caching_prompt': {
    label: 'Prompt caching',
    hint: 'Have the provider keep what was said before: cheaper and faster.',
  },
  'llm.native_tool_calling': {
    label: 'Tool calls of the model',
    hint: 'Off for models that cannot call tools: they are taught to write calls as text.',
  },
  'llm.api_mode': { label: 'API', hint: 'Which of the two OpenAI interfaces to speak. Auto fits nearly always.' },
  'llm.api_version': { label: 'API version', hint: 'Only for Azure.' },
  'llm.aws_region_name': { label: 'AWS region', hint: 'Only for Bedrock, such as us-east-1.' },
  'llm.input_cost_per_token': {
    label: 'Price of input',
    unit: 'US$ per token',
    hint: 'Not set: what is known of the model.',
  },
  'llm.output_cost_per_token': {
    label: 'Price of output',
    unit: 'US$ per token',
    hint: 'Not set: what is known of the model.',
  },
}

export const AWS_SECRETS: Record<string, Words> = {
  aws_access_key_id: { label: 'AWS access key ID', hint: 'Only for Bedrock.' },
  aws_secret_access_key: { label: 'AWS secret access key', hint: 'Only for Bedrock.' },
}
