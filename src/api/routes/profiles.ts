import * as z from 'zod'
import { Success } from '../common.ts'
import {
  ActivateProfileResponse,
  ProfileDetailResponse,
  ProfileListResponse,
  ProfileMutationResponse,
  ProfileName,
  RenameProfileRequest,
  SaveProfileRequest,
  SwitchProfileRequest,
  ValidateProfileRequest,
  ValidateProfileResponse,
} from '../profiles.ts'
import { route } from '../route.ts'
import { params } from './shared.ts'

const tag = 'Profiles'
const named = z.object({ name: ProfileName })

export const profileRoutes = {
  listProfiles: route({
    method: 'GET',
    path: '/api/profiles',
    tag,
    summary: 'List the LLM profiles; one of them is always active',
    access: 'caller',
    responses: { 200: ProfileListResponse },
  }),
  getProfile: route({
    method: 'GET',
    path: '/api/profiles/{name}',
    tag,
    summary: 'Read an LLM profile',
    access: 'expose',
    params: named,
    headers: z.object({
      'x-expose-secrets': z
        .string()
        .optional()
        .meta({ description: '`encrypted` or `plaintext`; without it secrets are masked, and `api_key` is null' }),
    }),
    responses: { 200: ProfileDetailResponse },
    errors: ['llm_profile_not_found', 'bad_request'],
  }),
  saveProfile: route({
    method: 'POST',
    path: '/api/profiles/{name}',
    tag,
    summary: 'Store an LLM profile, in place of one of that name',
    access: 'key',
    params: named,
    body: SaveProfileRequest,
    responses: { 201: ProfileMutationResponse },
    errors: ['llm_profile_limit'],
  }),
  deleteProfile: route({
    method: 'DELETE',
    path: '/api/profiles/{name}',
    tag,
    summary: 'Delete an LLM profile; the settings keep what they took from it',
    access: 'key',
    params: named,
    responses: { 200: ProfileMutationResponse },
    errors: ['llm_profile_exists', 'llm_profile_built_in'],
  }),
  renameProfile: route({
    method: 'POST',
    path: '/api/profiles/{name}/rename',
    tag,
    summary: 'Rename an LLM profile',
    access: 'key',
    params: named,
    body: RenameProfileRequest,
    responses: { 200: ProfileMutationResponse },
    errors: ['llm_profile_not_found', 'llm_profile_exists', 'llm_profile_built_in'],
  }),
  activateProfile: route({
    method: 'POST',
    path: '/api/profiles/{name}/activate',
    tag,
    summary: 'Make an LLM profile the model of the settings',
    access: 'key',
    params: named,
    responses: { 200: ActivateProfileResponse },
    errors: ['llm_profile_not_found', 'llm_profile_exists', 'llm_profile_built_in'],
  }),
  validateProfile: route({
    method: 'POST',
    path: '/api/profiles/{name}/validate',
    tag,
    summary: 'Find out whether a model answers, before it is stored under this name',
    access: 'key',
    params: named,
    body: ValidateProfileRequest,
    responses: { 200: ValidateProfileResponse },
  }),
  switchProfile: route({
    method: 'POST',
    path: '/api/conversations/{conversation_id}/switch_profile',
    tag: 'Conversations',
    summary: 'Have the model of an LLM profile think from the next step on',
    access: 'caller',
    params,
    body: SwitchProfileRequest,
    responses: { 200: Success },
    errors: ['conversation_not_found', 'llm_profile_not_found'],
  }),
}
