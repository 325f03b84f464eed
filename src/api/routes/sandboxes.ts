import * as z from 'zod'
import { Success } from '../common.ts'
import { route } from '../route.ts'
import {
  OpenedPort,
  SandboxInfo,
  SandboxPage,
  SandboxReport,
  SandboxSpecInfo,
  SandboxSpecInfoPage,
} from '../sandboxes.ts'
import { SecretsListResponse } from '../user-secrets.ts'
import { limit, pageId } from './shared.ts'

const tag = 'Sandboxes'
const sandbox = z.object({ sandbox_id: z.string() })
const ids = z.object({ id: z.array(z.string()).min(1).max(100) })

export const sandboxRoutes = {
  searchSandboxes: route({
    method: 'GET',
    path: '/api/v1/sandboxes/search',
    tag,
    summary: 'List sandboxes, newest first',
    access: 'caller',
    query: z.object({ page_id: pageId, limit }),
    responses: { 200: SandboxPage },
  }),
  batchSandboxes: route({
    method: 'GET',
    path: '/api/v1/sandboxes',
    tag,
    summary: 'Get several sandboxes; null for those that do not exist',
    access: 'caller',
    query: ids,
    responses: { 200: z.array(SandboxInfo.nullable()) },
  }),
  startSandbox: route({
    method: 'POST',
    path: '/api/v1/sandboxes',
    tag,
    summary: 'Start a sandbox from a spec; the default one unless given',
    access: 'caller',
    query: z.object({ sandbox_spec_id: z.string().nullish() }),
    responses: { 200: SandboxInfo },
    errors: ['sandbox_spec_not_found', 'sandbox_limit'],
  }),
  pauseSandbox: route({
    method: 'POST',
    path: '/api/v1/sandboxes/{sandbox_id}/pause',
    tag,
    summary: 'Freeze a sandbox: files and processes are kept',
    access: 'caller',
    params: sandbox,
    responses: { 200: Success },
    errors: ['sandbox_not_found', 'sandbox_preparing', 'sandbox_failed'],
  }),
  resumeSandbox: route({
    method: 'POST',
    path: '/api/v1/sandboxes/{sandbox_id}/resume',
    tag,
    summary: 'Have a sandbox run again, also one that failed',
    access: 'caller',
    params: sandbox,
    responses: { 200: Success },
    errors: ['sandbox_not_found', 'sandbox_limit', 'sandbox_failed'],
  }),
  deleteSandbox: route({
    method: 'DELETE',
    path: '/api/v1/sandboxes/{sandbox_id}',
    tag,
    summary: 'Delete a sandbox with everything in it',
    access: 'caller',
    params: sandbox,
    // Clients name it twice.
    query: z.object({ sandbox_id: z.string().nullish() }),
    responses: { 200: Success },
    errors: ['sandbox_not_found', 'sandbox_failed'],
  }),
  reportSandbox: route({
    method: 'GET',
    path: '/api/v1/sandboxes/{sandbox_id}/report',
    tag,
    summary: 'What a sandbox uses, what it printed, and what its network policy refused it',
    access: 'caller',
    params: sandbox,
    responses: { 200: SandboxReport },
    errors: ['sandbox_not_found'],
  }),
  openSandboxPort: route({
    method: 'POST',
    path: '/api/v1/sandboxes/{sandbox_id}/ports/{port}',
    tag,
    summary: 'Get an address under which a port of a sandbox can be opened in a browser',
    access: 'caller',
    params: sandbox.extend({ port: z.coerce.number().int().min(1).max(65_535) }),
    responses: { 200: OpenedPort },
    errors: ['sandbox_not_found'],
  }),
  listSandboxSecrets: route({
    method: 'GET',
    path: '/api/v1/sandboxes/{sandbox_id}/settings/secrets',
    tag,
    summary: 'Names of the stored secrets, for the bearer of the key of a running sandbox',
    access: 'sandbox',
    params: sandbox,
    responses: { 200: SecretsListResponse },
    errors: ['sandbox_not_found', 'unauthorized', 'forbidden'],
  }),
  readSandboxSecret: route({
    method: 'GET',
    path: '/api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}',
    tag,
    summary: 'The value of a stored secret, for the bearer of the key of a running sandbox',
    access: 'sandbox',
    params: sandbox.extend({ secret_name: z.string() }),
    responses: { 200: { raw: 'text/plain' } },
    errors: ['sandbox_not_found', 'secret_not_found', 'unauthorized', 'forbidden'],
  }),
  searchSandboxSpecs: route({
    method: 'GET',
    path: '/api/v1/sandbox-specs/search',
    tag,
    summary: 'List the templates for sandboxes; the first is the default',
    access: 'caller',
    query: z.object({ page_id: pageId, limit }),
    responses: { 200: SandboxSpecInfoPage },
  }),
  batchSandboxSpecs: route({
    method: 'GET',
    path: '/api/v1/sandbox-specs',
    tag,
    summary: 'Get several templates; null for those that do not exist',
    access: 'caller',
    query: ids,
    responses: { 200: z.array(SandboxSpecInfo.nullable()) },
  }),
}
