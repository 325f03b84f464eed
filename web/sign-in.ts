import { button, field, form, h, openDialog } from './dom.ts'
import { call, HttpError } from './http.ts'

const path = 'api/auth/sign-in'

/** Uses the one-time token of a sign-in link; false when it is no longer good. */
export async function signInWithToken(token: string): Promise<boolean> {
  try {
    await call('POST', path, { token })
    return true
  } catch (error) {
    if (error instanceof HttpError && error.status === 401) return false
    throw error
  }
}

/** Asks for the session key in a dialog, one at a time. The promise tells whether the server accepted it. */
export function keyPrompt(): (why?: string) => Promise<boolean> {
  let open: Promise<boolean> | undefined
  const ask = (why: string) =>
    new Promise<boolean>(resolve => {
      const key = h('input', { type: 'password', name: 'key', autocomplete: 'current-password', required: true })
      let accepted = false
      const dialog = openDialog('Sign in', close => [
        h('p', {}, why),
        form(
          'stack',
          async () => {
            await call('POST', path, { key: key.value }).catch(error => {
              throw error instanceof HttpError && error.status === 401 ? new Error('That is not the key.') : error
            })
            accepted = true
            close()
          },
          field('Session key', key, 'The server keeps it in its data folder and says where when it starts.'),
          h('div', { className: 'row' }, button('Sign in', 'primary'), cancel(close)),
        ),
      ])
      dialog.addEventListener('close', () => resolve(accepted))
    })
  return (why = 'The server wants its session key for this.') => {
    open ??= ask(why).finally(() => {
      open = undefined
    })
    return open
  }
}

const cancel = (close: () => void) => h('button', { type: 'button', onclick: close }, 'Not now')
