import { type Signal, signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { BASE } from './api.ts'
import { explain } from './explain.ts'
import { Dialog } from './ui/dialog.tsx'
import { Field, Form } from './ui/kit.tsx'
import { t } from './words.ts'

async function signIn(credential: { key: string } | { token: string }): Promise<void> {
  const response = await fetch(`${BASE}/api/auth/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(credential),
  })
  if (response.ok) return
  throw new Error(response.status === 401 ? t('That is not the key.') : explain(response.status, undefined))
}

/** One question for the key at a time, however many calls wait for it. */
export interface SignIn {
  asking: Signal<{ why: string; answer: (accepted: boolean) => void } | undefined>
  /** Whether the server accepted what the person typed. */
  ask(why?: string): Promise<boolean>
  /** Takes the one-time token of a sign-in link out of the address, then uses it. */
  useLink(): Promise<void>
}

export function makeSignIn(): SignIn {
  const asking: SignIn['asking'] = signal()
  let open: Promise<boolean> | undefined
  const ask: SignIn['ask'] = (why = t('The server wants its session key for this.')) => {
    open ??= new Promise<boolean>(resolve => {
      asking.value = {
        why,
        answer(accepted) {
          asking.value = undefined
          open = undefined
          resolve(accepted)
        },
      }
    })
    return open
  }
  return {
    asking,
    ask,
    async useLink() {
      const token = /^#token=(.+)$/.exec(location.hash)?.[1]
      if (!token) return
      history.replaceState(null, '', `${location.pathname}${location.search}`)
      // The question is not waited for: the page shows what it may, and the question with it.
      await signIn({ token: decodeURIComponent(token) }).catch(() => {
        ask(t('This sign-in link was used before or has expired. The session key works too.'))
      })
    },
  }
}

export function SignInDialog({ asking }: Pick<SignIn, 'asking'>) {
  const input = useRef<HTMLInputElement>(null)
  const question = asking.value
  if (!question) return null
  const accepted = { now: false }
  return (
    <Dialog title={t('Sign in')} onClose={() => question.answer(accepted.now)}>
      <p>{question.why}</p>
      <Form
        onSend={async () => {
          await signIn({ key: input.current!.value.trim() })
          accepted.now = true
          question.answer(true)
        }}
      >
        <Field
          label={t('Session key')}
          hint={t('The server keeps it in its data folder and says where when it starts. “gantry key” prints it.')}
        >
          {ids => <input {...ids} ref={input} type="password" autocomplete="current-password" required />}
        </Field>
        <div class="row end">
          <button type="button" onClick={() => question.answer(false)}>
            {t('Not now')}
          </button>
          <button type="submit" class="primary">
            {t('Sign in')}
          </button>
        </div>
      </Form>
    </Dialog>
  )
}
