import * as z from 'zod'
import {
  ActivateAgentProfileResponse,
  AgentProfileDetailResponse,
  AgentProfileDiagnostics,
  AgentProfileListResponse,
  AgentProfileMutationResponse,
  RenameAgentProfileRequest,
  SaveAgentProfileRequest,
} from '../agent-profiles.ts'
import { ProfileName } from '../profiles.ts'
import { route } from '../route.ts'

const tag = 'Agent Profiles'
const named = z.object({ name: ProfileName })

export const agentProfileRoutes = {
  listAgentProfiles: route({
    method: 'GET',
    path: '/api/agent-profiles',
    tag,
    summary: 'List the agent profiles; one of them is always active',
    access: 'caller',
    responses: { 200: AgentProfileListResponse },
  }),
  getAgentProfile: route({
    method: 'GET',
    path: '/api/agent-profiles/{name}',
    tag,
    summary: 'Read an agent profile',
    access: 'caller',
    params: named,
    responses: { 200: AgentProfileDetailResponse },
    errors: ['agent_profile_not_found'],
  }),
  saveAgentProfile: route({
    method: 'POST',
    path: '/api/agent-profiles/{name}',
    tag,
    summary: 'Store an agent profile, in place of one of that name',
    access: 'key',
    params: named,
    body: SaveAgentProfileRequest,
    responses: { 201: AgentProfileMutationResponse },
    errors: ['agent_profile_limit'],
  }),
  deleteAgentProfile: route({
    method: 'DELETE',
    path: '/api/agent-profiles/{name}',
    tag,
    summary: 'Delete an agent profile; conversations that were started with it stay as they are',
    access: 'key',
    params: named,
    responses: { 200: AgentProfileMutationResponse },
  }),
  renameAgentProfile: route({
    method: 'POST',
    path: '/api/agent-profiles/{name}/rename',
    tag,
    summary: 'Rename an agent profile; its id stays',
    access: 'key',
    params: named,
    body: RenameAgentProfileRequest,
    responses: { 200: AgentProfileMutationResponse },
    errors: ['agent_profile_not_found', 'agent_profile_exists'],
  }),
  activateAgentProfile: route({
    method: 'POST',
    path: '/api/agent-profiles/{profile_id}/activate',
    tag,
    summary: 'Make an agent profile, by its id, the one that is offered; the settings stay as they are',
    access: 'key',
    params: z.object({ profile_id: z.string().min(1).max(128) }),
    responses: { 200: ActivateAgentProfileResponse },
    errors: ['agent_profile_not_found'],
  }),
  materializeAgentProfile: route({
    method: 'POST',
    path: '/api/agent-profiles/{name}/materialize',
    tag,
    summary: 'Tell what would become of an agent profile, and what is missing',
    access: 'caller',
    params: named,
    responses: { 200: AgentProfileDiagnostics },
    errors: ['agent_profile_not_found'],
  }),
}
