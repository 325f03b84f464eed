import { useEffect, useRef, useState } from 'preact/hooks'
import type { MCPServer } from '../../src/api/mcp.ts'
import { useApp } from '../app.ts'
import { ActionButton, Field, Form, Problem } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { sealedServer } from './mcp-server.ts'

/** How often a login under way is looked at. */
const LOOK_MS = 1500

export interface McpLoginProps {
  name: string
  server: MCPServer
  onDone: () => Promise<void>
}

/** A person goes on at the server's own page; what that gives is kept with the server. */
export function McpLogin({ name, server, onDone }: McpLoginProps) {
  const { api, quiet, toasts } = useApp()
  const [job, setJob] = useState<{ id: string; url: string }>()
  const [problem, setProblem] = useState<unknown>()
  const pasted = useRef<HTMLInputElement>(null)

  const start = async () => {
    setProblem(undefined)
    const { enabled: _, description: __, ...sealed } = await sealedServer(api, name)
    const answer = await api.startMcpLogin({ body: { name, server: sealed as never } })
    if (!answer.job_id || !answer.authorization_url) throw new Error(answer.error ?? t('The server offers no login.'))
    setJob({ id: answer.job_id, url: answer.authorization_url })
    window.open(answer.authorization_url, '_blank', 'noopener')
  }

  const look = async (id: string) => {
    const login = await quiet.mcpLoginStatus({ params: { job_id: id } })
    if (login.status === 'failed') throw new Error(login.error ?? t('The login failed.'))
    if (login.status !== 'succeeded') return false
    const authentication = server.auth?.strategy === 'oauth2' ? server.auth.authentication : null
    await api.updateMcpServer({
      params: { settings_key: name },
      body: { auth: { strategy: 'oauth2', authentication, state: login.oauth_state ?? null } },
    })
    toasts.say(t('Logged in at {name}', { name }))
    await onDone()
    return true
  }

  useEffect(() => {
    if (!job) return
    let timer: ReturnType<typeof setTimeout>
    const again = async () => {
      try {
        if (await look(job.id)) return setJob(undefined)
        timer = setTimeout(again, LOOK_MS)
      } catch (error) {
        setProblem(error)
        setJob(undefined)
      }
    }
    again()
    return () => clearTimeout(timer)
  }, [job?.id])

  if (!job)
    return (
      <>
        <ActionButton label={t('Log in at {name}', { name })} action={start}>
          {t('Log in')}
        </ActionButton>
        <Problem error={problem} />
      </>
    )
  return (
    <div class="settings-login stack">
      <p role="status">
        {t('Waiting for your login.')}{' '}
        <a href={job.url} target="_blank" rel="noopener noreferrer">
          {t('Open the page again')}
        </a>
      </p>
      <Form
        label={t('Finish the login')}
        onSend={() => api.finishMcpLogin({ params: { job_id: job.id }, body: { callback_url: pasted.current!.value } })}
      >
        <Field
          label={t('Address it ended at')}
          hint={t('Only if your browser could not open the last page: paste its address here.')}
        >
          {ids => <input {...ids} ref={pasted} type="url" required autocomplete="off" />}
        </Field>
        <div class="row">
          <button type="submit">{t('Finish')}</button>
          <button type="button" onClick={() => setJob(undefined)}>
            {t('Cancel')}
          </button>
        </div>
      </Form>
    </div>
  )
}
