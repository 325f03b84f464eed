import type { pluginRoutes } from '../../api/routes/plugins.ts'
import type { Control } from '../../conversation/control.ts'
import type { Conversations } from '../../conversation/conversations.ts'
import type { Order } from '../../conversation/order.ts'
import type { Plugins } from '../../library/plugins.ts'
import type { Handlers } from '../server.ts'

export interface PluginHandlersParts {
  plugins: Plugins
  conversations: Conversations
  control: Control
}

export const pluginHandlers = ({
  plugins,
  conversations,
  control,
}: PluginHandlersParts): Handlers<typeof pluginRoutes> => ({
  listPlugins: ({ body }, { scope }) => plugins.list(body, scope),
  listInstalledPlugins: () => plugins.installed(),
  installPlugin: ({ body }) => plugins.install(body),
  getInstalledPlugin: ({ params }) => plugins.get(params.plugin_name),
  setPluginEnabled: ({ params, body }) => plugins.setEnabled(params.plugin_name, body.enabled),
  uninstallPlugin: ({ params }) => plugins.uninstall(params.plugin_name),
  refreshPlugin: ({ params }) => plugins.refresh(params.plugin_name),
  pluginMarketplace: () => plugins.marketplace(),
  loadPlugin: async ({ params, body }, { scope }) => {
    const { id, sandbox } = await conversations.record(params.conversation_id, scope)
    await control.equip(id, order => plugins.find(body.plugin_ref, destination(sandbox, order)))
    return { success: true }
  },
})

const destination = (sandbox: string | null | undefined, { agent, options }: Order) => ({
  sandbox: sandbox ?? undefined,
  egress: options.egress,
  marketplaces: agent.agent_context?.registered_marketplaces ?? [],
})
