import * as z from 'zod'
import { Success } from '../common.ts'
import {
  InstallPluginRequest,
  PackageName,
  UninstallPluginResponse,
  UpdatePluginStateRequest,
  UpdatePluginStateResponse,
} from '../installed-skills.ts'
import {
  InstalledPluginResponse,
  InstalledPluginsListResponse,
  LoadPluginRequest,
  PluginMarketplaceResponse,
  PluginsRequest,
  PluginsResponse,
  UpdatePluginResponse,
} from '../plugins.ts'
import { route } from '../route.ts'
import { params as conversation } from './shared.ts'

const tag = 'Plugins'
const params = z.object({ plugin_name: PackageName })
const errors = ['package_not_found'] as const

export const pluginRoutes = {
  listPlugins: route({
    method: 'POST',
    path: '/api/plugins',
    tag,
    summary: 'List the plugins that an order can name: installed ones, and those of a project',
    access: 'caller',
    confined: true,
    body: PluginsRequest,
    responses: { 200: PluginsResponse },
    errors: ['outside_workspace', 'permission_denied', 'sandbox_unavailable', 'sandbox_failed'],
  }),
  listInstalledPlugins: route({
    method: 'GET',
    path: '/api/plugins/installed',
    tag,
    summary: 'List the installed plugins',
    access: 'caller',
    responses: { 200: InstalledPluginsListResponse },
  }),
  installPlugin: route({
    method: 'POST',
    path: '/api/plugins/install',
    tag,
    summary: 'Install a plugin. Orders that name it get all it brings: skills, hooks, servers, sub-agents',
    access: 'key',
    body: InstallPluginRequest,
    responses: { 200: InstalledPluginResponse },
    errors: ['package_not_fetched', 'package_exists', 'package_invalid', 'package_limit'],
  }),
  getInstalledPlugin: route({
    method: 'GET',
    path: '/api/plugins/installed/{plugin_name}',
    tag,
    summary: 'Get an installed plugin',
    access: 'caller',
    params,
    responses: { 200: InstalledPluginResponse },
    errors,
  }),
  setPluginEnabled: route({
    method: 'PATCH',
    path: '/api/plugins/installed/{plugin_name}',
    tag,
    summary: 'Have orders get an installed plugin, or be refused it',
    access: 'key',
    params,
    body: UpdatePluginStateRequest,
    responses: { 200: UpdatePluginStateResponse },
    errors,
  }),
  uninstallPlugin: route({
    method: 'DELETE',
    path: '/api/plugins/installed/{plugin_name}',
    tag,
    summary: 'Uninstall a plugin; conversations that have it keep it',
    access: 'key',
    params,
    responses: { 200: UninstallPluginResponse },
    errors,
  }),
  refreshPlugin: route({
    method: 'POST',
    path: '/api/plugins/installed/{plugin_name}/refresh',
    tag,
    summary: 'Fetch an installed plugin anew, as it is at its source now',
    access: 'key',
    params,
    responses: { 200: UpdatePluginResponse },
    errors: ['package_not_found', 'package_not_fetched', 'package_invalid'],
  }),
  pluginMarketplace: route({
    method: 'GET',
    path: '/api/plugins/marketplace',
    tag,
    summary: 'List the plugins that the registered marketplaces offer',
    access: 'caller',
    responses: { 200: PluginMarketplaceResponse },
  }),
  loadPlugin: route({
    method: 'POST',
    path: '/api/conversations/{conversation_id}/load_plugin',
    tag: 'Conversations',
    summary: 'Give a conversation a plugin, from its next run on',
    access: 'caller',
    confined: true,
    params: conversation,
    body: LoadPluginRequest,
    responses: { 200: Success },
    errors: ['conversation_not_found', 'package_not_fetched', 'package_invalid'],
  }),
}
