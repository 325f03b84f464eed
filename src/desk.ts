import { AppConversations } from './app-conversation/app-conversations.ts'
import { Lodgings } from './app-conversation/lodgings.ts'
import { PendingMessages } from './app-conversation/pending.ts'
import { Preparation, type PreparationParts } from './app-conversation/preparation.ts'
import { StartTasks } from './app-conversation/start-tasks.ts'
import { Starts } from './app-conversation/starts.ts'
import type { Conversations } from './conversation/conversations.ts'
import type { Journal } from './conversation/journal.ts'
import type { Log } from './lib/log.ts'
import type { Plugins } from './library/plugins.ts'
import type { Vault } from './policy/secrets.ts'
import type { Sandboxes } from './sandbox/sandboxes.ts'
import type { AgentProfiles } from './settings/agent-profiles.ts'
import type { SettingsService } from './settings/settings.ts'
import type { SkillLibrary } from './settings/skill-library.ts'
import type { Store } from './store/store.ts'

export interface DeskParts extends PreparationParts {
  store: Store
  vault: Vault
  settings: SettingsService
  agentProfiles: AgentProfiles
  journal: Journal
  conversations: Conversations
  sandboxes: Sandboxes
  library: SkillLibrary
  plugins: Plugins
  log: Log
}

/** Everything that takes orders for conversations, wired. */
export function openDesk(parts: DeskParts) {
  const tasks = new StartTasks(parts.store, parts.vault)
  const lodgings = new Lodgings(parts)
  const pending = new PendingMessages({ ...parts, tasks })
  const starts = new Starts({ ...parts, tasks, lodgings, pending, preparation: new Preparation(parts) })
  return {
    tasks,
    pending,
    starts,
    lodgings,
    appConversations: new AppConversations({ ...parts, starts }),
  }
}
