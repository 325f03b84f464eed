import { SaveAppProfileRequest } from '../../api/app-profiles.ts'
import type { appProfileRoutes } from '../../api/routes/app-profiles.ts'
import type { AppProfiles } from '../../settings/app-profiles.ts'
import type { Handlers } from '../server.ts'

export const appProfileHandlers = (profiles: AppProfiles): Handlers<typeof appProfileRoutes> => ({
  listAppProfiles: () => profiles.list(),
  getAppProfile: ({ params }) => profiles.get(params.name),
  saveAppProfile: ({ params, body }) => profiles.save(params.name, body ?? SaveAppProfileRequest.parse({})),
  deleteAppProfile: ({ params }) => profiles.delete(params.name),
  activateAppProfile: ({ params }) => profiles.activate(params.name),
  renameAppProfile: ({ params, body }) => profiles.rename(params.name, body.new_name),
})
