import { fault } from '../../api/errors.ts'
import type { initRoutes } from '../../api/routes/init.ts'
import type { Handlers } from '../server.ts'

const refuse = () => {
  throw fault('not_found')
}

export const initHandlers = (): Handlers<typeof initRoutes> => ({ getInitStatus: refuse, initialize: refuse })
