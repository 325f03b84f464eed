import * as z from 'zod'
import {
  ActivateAppProfileResponse,
  AppProfileListResponse,
  AppProfileName,
  RenameAppProfileRequest,
  SaveAppProfileRequest,
} from '../app-profiles.ts'
import { ProfileDetailResponse, ProfileMutationResponse } from '../profiles.ts'
import { route } from '../route.ts'

const tag = 'Profiles'
const named = z.object({ name: AppProfileName })

export const appProfileRoutes = {
  listAppProfiles: route({
    method: 'GET',
    path: '/api/v1/settings/profiles',
    tag,
    summary: 'List the stored LLM profiles',
    access: 'caller',
    responses: { 200: AppProfileListResponse },
  }),
  getAppProfile: route({
    method: 'GET',
    path: '/api/v1/settings/profiles/{name}',
    tag,
    summary: 'Read an LLM profile, secrets masked and `api_key` null',
    access: 'caller',
    params: named,
    responses: { 200: ProfileDetailResponse },
    errors: ['llm_profile_not_found'],
  }),
  saveAppProfile: route({
    method: 'POST',
    path: '/api/v1/settings/profiles/{name}',
    tag,
    summary: 'Store an LLM, or that of the settings, as a profile, in place of one of that name',
    access: 'key',
    params: named,
    body: SaveAppProfileRequest,
    bodyOptional: true,
    responses: { 201: ProfileMutationResponse },
    errors: ['llm_profile_limit'],
  }),
  deleteAppProfile: route({
    method: 'DELETE',
    path: '/api/v1/settings/profiles/{name}',
    tag,
    summary: 'Delete an LLM profile; if it was active, the first that is left becomes so',
    access: 'key',
    params: named,
    responses: { 200: ProfileMutationResponse },
  }),
  activateAppProfile: route({
    method: 'POST',
    path: '/api/v1/settings/profiles/{name}/activate',
    tag,
    summary: 'Make an LLM profile the model of the settings',
    access: 'key',
    params: named,
    responses: { 200: ActivateAppProfileResponse },
    errors: ['llm_profile_not_found'],
  }),
  renameAppProfile: route({
    method: 'POST',
    path: '/api/v1/settings/profiles/{name}/rename',
    tag,
    summary: 'Rename an LLM profile',
    access: 'key',
    params: named,
    body: RenameAppProfileRequest,
    responses: { 200: ProfileMutationResponse },
    errors: ['llm_profile_not_found', 'llm_profile_exists'],
  }),
}
