import { Fragment } from 'preact'
import type { HookConfig } from '../../src/api/hooks.ts'
import { useApp } from '../app.ts'
import { hrefTo } from '../route.ts'
import { Empty } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { Loaded } from './loaded.tsx'

const STAGES: Record<keyof HookConfig, string> = {
  session_start: 'When a conversation starts',
  user_prompt_submit: 'When you send a message',
  pre_tool_use: 'Before a tool is used',
  post_tool_use: 'After a tool was used',
  stop: 'Before the agent stops',
  session_end: 'When a conversation ends',
}

/** Nothing to change here: hooks are files of repositories and plugins, and take effect by approval or installation. */
export function HooksSection() {
  const { api } = useApp()
  const load = useLoad(signal => api.loadHooks({ body: {}, signal }))
  return (
    <>
      <div class="group stack">
        <h3>{t('Where hooks come from')}</h3>
        <ul class="settings-links">
          <li>
            {t('A repository, in its file')} <code>.openhands/hooks.json</code>.{' '}
            {t('They run once you approved the file, in a conversation with that repository.')}{' '}
            <a href={hrefTo(['settings', 'approvals'])}>{t('Approvals')}</a>
          </li>
          <li>
            {t('A plugin that you installed, in conversations that use it.')}{' '}
            <a href={hrefTo(['settings', 'skills'])}>{t('Plugins')}</a>
          </li>
        </ul>
      </div>
      <div class="group stack">
        <h3>{t('In the default workspace')}</h3>
        <Loaded load={load}>
          {({ hook_config: hooks }) =>
            hooks ? (
              <HookTable hooks={hooks} />
            ) : (
              <Empty title={t('No approved hooks')}>
                <p>{t('The folder of the default sandbox has none, or nobody has approved them yet.')}</p>
              </Empty>
            )
          }
        </Loaded>
      </div>
    </>
  )
}

const HookTable = ({ hooks }: { hooks: HookConfig }) => (
  <dl class="settings-facts">
    {(Object.keys(STAGES) as (keyof HookConfig)[])
      .filter(stage => hooks[stage].length > 0)
      .map(stage => (
        <Fragment key={stage}>
          <dt>{t(STAGES[stage])}</dt>
          <dd>
            {hooks[stage].flatMap(({ matcher, hooks }) =>
              hooks.map(hook => (
                <p key={`${matcher} ${hook.command}`}>
                  <code>{hook.command || hook.prompt}</code>
                  {matcher !== '*' && <span class="quiet"> {t('for {tools}', { tools: matcher })}</span>}
                </p>
              )),
            )}
          </dd>
        </Fragment>
      ))}
  </dl>
)
