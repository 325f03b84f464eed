export const FAREWELL = `That was the tour. I am a script, not a language model: to have real work done, configure a model in the settings, then begin a new conversation or switch this one to it.

You can still ask me about help, models, confirmation or the sandbox, or say "tour" to see all of this again.`

export const DEFAULT = `I am a script, not a language model, so I cannot answer that. Configure a model in the settings, and it will.

What I can tell you about: help, models, confirmation, the sandbox. Or say "tour" and I show you around.`

export const NO_TERMINAL =
  'This conversation has no terminal for me to use, so the rest of the tour has to be left out.'

const TOPICS: readonly (readonly [about: RegExp, text: string])[] = [
  [
    /\b(models?|llms?|providers?|api[ -]?keys?|settings?)\b/i,
    'A model is what thinks. In the settings, choose a provider and a model and enter its key; the key stays in the server and never reaches the sandbox. I am none: I am a script that stands in until there is one.',
  ],
  [
    /\b(confirm\w*|approv\w*|policy|policies|risk\w*|permissions?)\b/i,
    'Each conversation has a confirmation policy: never ask, always ask, or ask before risky steps. When a step has to be asked for, the conversation waits, you accept or reject that very step, and nothing runs before that. A message is not a yes.',
  ],
  [
    /\b(sandbox\w*|isolat\w*|containers?|docker|folders?|workspaces?)\b/i,
    'Commands and files live in a sandbox: it has a file system and processes of its own, sees only the folders you granted, and holds none of the server’s keys. Where a machine cannot wall it off, the server says so. What I made on the tour was made in there.',
  ],
  [
    /\b(help|what can you do|who are you|how does (this|it) work)\b/i,
    'This server runs agents that work on code: a model decides, tools act in a sandbox, and every step is kept in this conversation. I am the guide, a script: I can tell you about models, confirmation and the sandbox, and say "tour" to see an agent at work.',
  ],
]

/** What there is to say about something; undefined when it is not known. */
export const topicOf = (question: string): string | undefined => TOPICS.find(([about]) => about.test(question))?.[1]
