import { modelContract, modelTimes, type Provider } from './model.ts'

const providers: Record<string, Provider> = {
  'OpenAI-compatible chat': { protocol: 'chat', caches: 'both' },
  'OpenAI responses': { protocol: 'responses', caches: 'both' },
  Anthropic: { protocol: 'anthropic', caches: 'both' },
  Gemini: { protocol: 'gemini', ids: false, caches: 'read' },
  Azure: { protocol: 'chat', order: { model: 'azure/scripted' }, path: '', caches: 'read' },
  Mistral: { protocol: 'chat', order: { model: 'mistral/scripted' }, caches: 'read', withholds: false },
}

for (const [name, provider] of Object.entries(providers)) modelContract(name, provider)
modelTimes(providers)
