import * as z from 'zod'
import { AppSettingsResponse } from './app-settings.ts'
import { secretOrNull, textOrNull } from './common.ts'
import { MCPConfig } from './mcp-config.ts'

/** The settings as the app server's generation shows them, and of the flat ones what its Python client reads. */
export const UserInfo = z
  .object({
    ...AppSettingsResponse.shape,
    id: textOrNull.meta({ description: 'Null: there is one user, who has no name' }),
    llm_model: textOrNull,
    llm_api_key: secretOrNull,
    llm_base_url: textOrNull,
    mcp_config: MCPConfig,
  })
  .meta({ id: 'UserInfo' })
export type UserInfo = z.output<typeof UserInfo>
