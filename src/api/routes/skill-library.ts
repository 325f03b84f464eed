import * as z from 'zod'
import { route } from '../route.ts'
import {
  HooksRequest,
  HooksResponse,
  ListedSkillPage,
  MarketplaceSkillsResponse,
  MarketplacesRequest,
  SkillsRequest,
  SkillsResponse,
} from '../skill-library.ts'
import { limit, pageId } from './shared.ts'

const tag = 'Skills'
const errors = ['outside_workspace', 'permission_denied', 'sandbox_unavailable', 'sandbox_failed'] as const

export const skillLibraryRoutes = {
  loadSkills: route({
    method: 'POST',
    path: '/api/skills',
    tag,
    summary: 'Read the skills of the user, of a project and of whatever else is named; what cannot be had is left out',
    access: 'caller',
    confined: true,
    body: SkillsRequest,
    responses: { 200: SkillsResponse },
    errors,
  }),
  loadHooks: route({
    method: 'POST',
    path: '/api/hooks',
    tag,
    summary: 'Read the hooks of a project: null unless somebody has approved them',
    access: 'caller',
    confined: true,
    body: HooksRequest,
    responses: { 200: HooksResponse },
    errors,
  }),
  searchSkills: route({
    method: 'GET',
    path: '/api/v1/skills/search',
    tag,
    summary: 'List the skills that every conversation can have, by name',
    access: 'caller',
    query: z.object({ page_id: pageId, limit }),
    responses: { 200: ListedSkillPage },
  }),
  previewMarketplaces: route({
    method: 'POST',
    path: '/api/v1/skills/marketplace-skills',
    tag,
    summary: 'What marketplaces offer; the errors name those that cannot be read',
    access: 'caller',
    body: MarketplacesRequest,
    responses: { 200: MarketplaceSkillsResponse },
  }),
}
