import { fault } from '../../api/errors.ts'
import type { desktopRoutes } from '../../api/routes/desktop.ts'
import type { Handlers } from '../server.ts'

export const desktopHandlers = (): Handlers<typeof desktopRoutes> => ({
  getDesktopUrl: () => {
    throw fault('desktop_unavailable')
  },
})
