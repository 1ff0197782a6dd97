import Foundation
import HeadraceTestSupport

extension RunningServer {
    /// The configuration, with which all servers serve the same content.
    var configuration: String {
        switch kind {
        case .nginx: nginx
        case .apache2: apache
        case .caddy: caddy
        }
    }

    private var place: String { folder.path }

    /// One process without a master, which does not change its user if it is root.
    private var nginx: String {
        let scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(place)/temporary;" }.joined(separator: "\n    ")
        return """
            daemon off;
            master_process off;
            pid \(place)/nginx.pid;
            error_log stderr;
            events {}
            http {
                types { text/html html; }
                default_type application/octet-stream;
                access_log off;
                gzip on;
                \(scratch)
                ssl_certificate_key \(place)/key.pem;
                root \(place)/site;
                server {
                    listen 127.0.0.1:\(port(.http1));
                    \(FaultServer.hasIPv6 ? "listen [::1]:\(port(.http1));" : "")
                    listen unix:\(socket.path);
                    listen 127.0.0.1:\(port(.http1OverTLS)) ssl;
                    listen 127.0.0.1:\(port(.http2)) ssl http2;
                    ssl_certificate \(place)/certificate.pem;
                    location = /old { return 302 /file.bin; }
                    location = /cipher { add_header Cipher $ssl_cipher; return 204; }
                    location = /packed.gz { add_header Content-Encoding gzip; }
                    location /dated/ { etag off; }
                    # Nobody knows the length of what may have includes.
                    location /included/ { alias \(place)/site/; ssi on; ssi_types *; }
                    location /private/ { auth_basic test; auth_basic_user_file \(place)/users; }
                    location /links/ { if (-f \(place)/expired/$arg_sig) { return 403; } alias \(place)/site/; }
                    location /digests/ {
                        alias \(place)/site/;
                        add_header X-Goog-Hash $arg_goog;
                        add_header X-Amz-Checksum-SHA256 $arg_amz;
                        add_header X-Checksum-SHA256 $arg_sha256;
                    }
                    location = /linked {
                        add_header X-Linked-Size \(Self.page.count);
                        add_header X-Linked-ETag '"$arg_sha256"';
                        return 302 /page.html;
                    }
                }
                # A host with its own certificate, which wants to be requested over https alone.
                server {
                    listen 127.0.0.1:\(port(.http1OverTLS)) ssl;
                    listen 127.0.0.1:\(port(.http2)) ssl http2;
                    server_name \(Self.name);
                    ssl_certificate \(place)/named.pem;
                    add_header Strict-Transport-Security max-age=1000;
                }
            }

            """
    }

    private var apache: String {
        let modules = [
            "mpm_event", "authz_core", "authz_user", "authn_core", "authn_file", "auth_basic", "auth_digest", "mime",
            "filter", "deflate", "brotli", "alias", "socache_shmcb", "ssl", "http2",
        ]
        return modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so\n" }.joined()
            + """
            ServerName 127.0.0.1
            PidFile \(place)/apache.pid
            Mutex file:\(place)
            ErrorLog \(place)/log
            User www-data
            Group www-data
            Listen 127.0.0.1:\(port(.http1))
            Listen 127.0.0.1:\(port(.http1OverTLS))
            Listen 127.0.0.1:\(port(.http2))
            Protocols http/1.1
            TypesConfig /dev/null
            AddType text/html .html
            AddEncoding gzip .gz
            AddOutputFilterByType DEFLATE text/html
            DocumentRoot \(place)/site
            SSLCertificateFile \(place)/certificate.pem
            SSLCertificateKeyFile \(place)/key.pem
            Redirect 302 /old /file.bin
            Alias /digest \(place)/site
            Alias /br \(place)/site
            <Directory \(place)/site>
                Require all granted
            </Directory>
            <Directory \(place)/site/dated>
                FileETag None
            </Directory>
            <Location /private>
                AuthType Basic
                AuthName test
                AuthBasicProvider file
                AuthUserFile \(place)/users
                Require valid-user
            </Location>
            <Location /digest>
                AuthType Digest
                AuthName test
                AuthDigestProvider file
                AuthUserFile \(place)/digests
                Require valid-user
            </Location>
            <Location /br>
                SetOutputFilter BROTLI_COMPRESS
            </Location>
            <VirtualHost 127.0.0.1:\(port(.http1OverTLS))>
                SSLEngine on
            </VirtualHost>
            <VirtualHost 127.0.0.1:\(port(.http2))>
                SSLEngine on
                Protocols h2 http/1.1
            </VirtualHost>

            """
    }

    /// Caddy supports only bcrypt passwords: this hash of `secret` has the lowest cost.
    private var caddy: String {
        """
        {
            admin off
            auto_https off
            storage file_system \(place)/temporary
            servers 127.0.0.1:\(port(.http1OverTLS)) {
                protocols h1
            }
            servers {
                protocols h1 h2
            }
        }
        (site) {
            bind 127.0.0.1
            root * \(place)/site
            @zstd path /zstd/*
            encode @zstd zstd
            @others not path /zstd/*
            encode @others gzip
            redir /old /file.bin 302
            redir /303 /echo 303
            redir /307 /echo 307
            redir /308 /echo 308
            handle /echo {
                respond "{http.request.method} {http.request.body}"
            }
            handle_path /zstd/* {
                file_server
            }
            header /packed.gz Content-Encoding gzip
            header /dated/* -ETag
            basicauth /private/* {
                user $2a$04$fo/QoTFC9D/0OlfitBfOVOi3t8YLI.2CFVVF/JSiiJ0/E52MM5BM2
            }
            file_server
        }
        http://127.0.0.1:\(port(.http1)) {
            import site
        }
        https://127.0.0.1:\(port(.http1OverTLS)), https://127.0.0.1:\(port(.http2)) {
            tls \(place)/certificate.pem \(place)/key.pem
            import site
        }

        """
    }
}
